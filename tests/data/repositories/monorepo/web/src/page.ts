import { forget } from "./cache";
import { label, send, State, statusOf } from "./client";

const drafts: string[] = [];
let timer: ReturnType<typeof setInterval> | undefined;

export class Page {
  state = State.Idle;
  message = "";

  async submit(id: string): Promise<void> {
    this.state = State.Sending;
    const result = await send(id);
    this.message = label(result);
    if (result === State.Failed) {
      drafts.push(id);
      forget(id);
    }
    this.state = result;
  }

  start(): void {
    timer = setInterval(refresh, 5000);
  }

  stop(): void {
    clearInterval(timer);
  }
}

export async function refresh(): Promise<void> {
  try {
    const all = await statusOf(drafts);
    document.body.innerHTML = all.join("<br>");
  } catch (problem) {
    console.error("refresh failed", problem);
  }
}
