/**
 * Where the full text of a trimmed result rests, under a handle. A session reads only what it put there itself;
 * entries expire.
 */
export interface Spill {
  put(sessionId: string, text: string): string | Promise<string>
  get(sessionId: string, handle: string): string | undefined | Promise<string | undefined>
}
