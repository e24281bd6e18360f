package queue

import (
	"log"
	"net/http"
	"os"
	"time"

	"example.org/intake/internal/store"
)

// Queue hands orders to the warehouse.
type Queue struct {
	store  *store.Store
	input  chan string
	failed int
	last   string
}

// New makes a queue with some room.
func New(s *store.Store, room int) *Queue {
	if room < 1 {
		panic("a queue needs room")
	}
	return &Queue{store: s, input: make(chan string, room)}
}

// Push adds an order.
func (q *Queue) Push(id string) {
	q.input <- id
}

// Run works until the process ends.
func (q *Queue) Run() {
	for id := range q.input {
		q.last = id
		if err := q.send(id); err != nil {
			q.failed = q.failed + 1
			log.Printf("order %s failed: %v", id, err)
			go q.retry(id)
			continue
		}
		_ = q.store.Put(&store.Order{ID: id, State: "sent"})
	}
}

func (q *Queue) retry(id string) {
	time.Sleep(time.Minute)
	q.Push(id)
}

func (q *Queue) send(id string) error {
	host := os.Getenv("INTAKE_WAREHOUSE")
	if host == "" {
		log.Printf("no warehouse for %s", id)
		return nil
	}
	answer, err := http.Get("https://" + host + "/orders/" + id)
	if err != nil {
		return err
	}
	if answer.StatusCode == 409 {
		return nil
	}
	if answer.StatusCode >= 500 {
		return os.ErrDeadlineExceeded
	}
	return answer.Body.Close()
}
