/** An error of the protocol, for the client to see. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }

  /** The error that a server answered with, as it came. */
  static from({ code, message, data }: { code: number; message: string; data: unknown }): RpcError {
    return new RpcError(code, message, data)
  }
}
