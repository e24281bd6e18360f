import { cacheOf, remember } from "./cache";

export enum State {
  Idle,
  Sending,
  Sent,
  Failed,
}

const base = process.env.INTAKE_URL;

export async function send(id: string, retries = 2): Promise<State> {
  const known = cacheOf(id);
  if (known) {
    return State.Sent;
  }
  for (let attempt = 0; attempt <= retries; attempt++) {
    try {
      const answer = await fetch(base + "/orders", { method: "POST", body: "id=" + id });
      if (answer.status === 405) {
        throw new Error("the service refused the method");
      }
      if (!answer.ok) {
        continue;
      }
      remember(id, await answer.text());
      return State.Sent;
    } catch (problem) {
      continue;
    }
  }
  return State.Failed;
}

export async function statusOf(ids: string[]): Promise<string[]> {
  const found = [];
  for (const id of ids) {
    const answer = await fetch(base + "/orders/status?id=" + id);
    found.push(await answer.text());
  }
  return found;
}

export function label(state: State): string {
  switch (state) {
    case State.Idle:
      return "ready";
    case State.Sending:
      return "sending";
    case State.Sent:
      return "sent";
  }
  return "";
}

export function encodeOrder(id: string, count: number): string {
  if (id.includes(":")) {
    throw new Error("an id holds no colon");
  }
  if (count < 1) {
    return id;
  }
  return id + ":" + count;
}

export function decodeOrder(line: string): [string, number] {
  const at = line.indexOf(":");
  if (at < 0) {
    return [line, 1];
  }
  if (at === 0) {
    throw new Error("an order has an id");
  }
  return [line.slice(0, at), Number(line.slice(at + 1))];
}
