package main

import (
	"log"
	"net/http"
	"os"

	"example.org/intake/internal/queue"
	"example.org/intake/internal/store"
)

func main() {
	s := store.Open(os.Getenv("INTAKE_DATA"))
	q := queue.New(s, 4)
	go q.Run()
	http.HandleFunc("/orders", func(w http.ResponseWriter, r *http.Request) {
		if r.Method != "POST" {
			http.Error(w, "only POST", 405)
			return
		}
		q.Push(r.FormValue("id"))
	})
	http.HandleFunc("/orders/status", func(w http.ResponseWriter, r *http.Request) {
		order := s.Find(r.FormValue("id"))
		if order == nil {
			http.Error(w, "no such order", 404)
			return
		}
		log.Printf("status of %s", order.ID)
	})
	log.Println("listening")
	log.Fatal(http.ListenAndServe(":"+os.Getenv("INTAKE_PORT"), nil))
}
