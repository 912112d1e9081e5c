/** Words or flags that a command cannot use, whatever the config says. The message names the next step. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
  readonly code = 'usage-invalid'
}
