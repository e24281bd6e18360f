package queue

import "testing"

func TestNew(t *testing.T) {
	if New(nil, 1) == nil {
		t.Fatal("no queue")
	}
}
