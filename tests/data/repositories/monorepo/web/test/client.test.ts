import { label, State } from "../src/client";

test("label", () => {
  expect(label(State.Idle)).toBe("ready");
});
