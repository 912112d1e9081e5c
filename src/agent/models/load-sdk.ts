import { ToolcribError } from '../../errors.ts'

/** Loads a provider's SDK on first use. Throws `config-invalid` with the install command when it is missing. */
export function sdkLoader<Client>(packageName: string, load: () => Promise<Client>): () => Promise<Client> {
  let loading: Promise<Client> | undefined
  return () => {
    loading ??= load().catch((cause: unknown) => {
      loading = undefined
      if (!isMissing(cause, packageName)) throw cause
      throw new ToolcribError(
        'config-invalid',
        `the package ${packageName} is not installed; install it with: npm install ${packageName}`,
        { cause },
      )
    })
    return loading
  }
}

function isMissing(cause: unknown, packageName: string): boolean {
  if (!(cause instanceof Error)) return false
  const code = 'code' in cause ? cause.code : undefined
  return (
    (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND') && cause.message.includes(packageName)
  )
}
