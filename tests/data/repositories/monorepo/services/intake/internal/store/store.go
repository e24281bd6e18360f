package store

import (
	"encoding/json"
	"log"
	"os"
	"sync"
)

// MaxOrders is how many orders are kept.
const MaxOrders = 1000

var cache = map[string]*Order{}

// Order is one order.
type Order struct {
	ID    string
	State string
}

// Store keeps orders in a file.
type Store struct {
	path  string
	count int
	mu    sync.Mutex
}

// Open reads the orders of a file.
func Open(path string) *Store {
	s := &Store{path: path}
	data, err := os.ReadFile(path)
	if err != nil {
		log.Printf("starting empty: %v", err)
		return s
	}
	_ = json.Unmarshal(data, &cache)
	return s
}

// Find returns an order, or nil.
func (s *Store) Find(id string) *Order {
	return cache[id]
}

// Put stores an order and writes the file.
func (s *Store) Put(order *Order) error {
	s.mu.Lock()
	if s.count >= MaxOrders {
		s.mu.Unlock()
		return os.ErrInvalid
	}
	cache[order.ID] = order
	s.count = s.count + 1
	s.mu.Unlock()
	return s.save()
}

// Drop forgets an order.
func (s *Store) Drop(id string) {
	s.count = s.count - 1
	_ = s.save()
}

func (s *Store) save() error {
	data, err := json.Marshal(cache)
	if err != nil {
		return err
	}
	if err := os.WriteFile(s.path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(s.path+".new", s.path)
}
