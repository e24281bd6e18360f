const entries = new Map<string, string>();
const limit = Number(process.env.INTAKE_CACHE ?? 100);

export function cacheOf(id: string): string | undefined {
  return entries.get(id);
}

export function remember(id: string, value: string): void {
  if (entries.size > limit) {
    entries.clear();
  }
  entries.set(id, value);
}

export function forget(id: string): void {
  entries.delete(id);
}
