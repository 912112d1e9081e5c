import type { SdkHttpError } from '@modelcontextprotocol/client'

const MAX_CHARACTERS = 200

/** What a server answered instead of a message, in a line. A page for people is left out. */
export function describeHttpError({ status, message, data }: SdkHttpError): string {
  // The SDK says where it would have gone, and why it did not.
  if (status >= 300 && status < 400) return message.replace(/^[^:]*: |\s*\(redirectPolicy.*\)$/g, '')
  const text =
    String(data.text ?? '')
      .trim()
      .split('\n', 1)[0] ?? ''
  const said = text === '' || text.startsWith('<') ? '' : `: ${text.slice(0, MAX_CHARACTERS)}`
  return `it answered with HTTP ${status}${said}`
}

/** The same, with what to do about it when a server cannot be connected. */
export function describeHttpRefusal(error: SdkHttpError): string {
  const step = STEPS[error.status]
  return step === undefined ? describeHttpError(error) : `${step} (${describeHttpError(error)})`
}

const STEPS: Readonly<Record<number, string>> = {
  401: 'it asks for authorization; set an Authorization header, or pass oauth',
  403: 'it refuses access; check that its token is valid and allows this',
  404: 'there is no MCP server at this address; mend its url',
  405: 'there is no MCP server at this address; mend its url',
  429: 'it is asked too often; try later',
}
