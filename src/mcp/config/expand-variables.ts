/** A text with its variables filled in, or the variable that has no value. */
export type Expanded = { readonly text: string } | { readonly missing: string }

/**
 * Fills in `${NAME}`, `${NAME:-default}` and the spellings of editors, `${env:NAME}` and `${workspaceFolder}`. A
 * default also stands in for an empty variable, as in a shell. What was filled in is not looked at again.
 */
export function expandVariables(
  text: string,
  env: Readonly<Record<string, string | undefined>>,
  workspaceFolder?: string,
): Expanded {
  let missing: string | undefined
  const expanded = text.replace(
    /\$\{(?:env:)?([\w.]+(?::[\w.]+)?)(?::-([^}]*))?\}/g,
    (_whole, name: string, fallback: string | undefined) => {
      const value = name === 'workspaceFolder' ? workspaceFolder : env[name]
      if (fallback !== undefined) return value === undefined || value === '' ? fallback : value
      if (value === undefined) missing ??= name
      return value ?? ''
    },
  )
  return missing === undefined ? { text: expanded } : { missing }
}
