const prefix = 'moli.';

/** A value kept in this browser, or `fallback` when there is none or storage is refused. */
export function readPreference<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(prefix + key);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** Keeps a value in this browser; `null` forgets it. A full or refused storage is no reason to fail. */
export function writePreference(key: string, value: unknown): void {
  try {
    if (value === null) localStorage.removeItem(prefix + key);
    else localStorage.setItem(prefix + key, JSON.stringify(value));
  } catch {
    // Private windows and full storage refuse: the setting then lives as long as the page.
  }
}
