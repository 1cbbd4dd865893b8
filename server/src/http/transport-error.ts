/** A request that fails at the level of HTTP, before or beside what it asks for. `message` may be shown to anyone. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}
