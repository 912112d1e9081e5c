/** TypeScript without its types, each line where it was; undefined if it is not TypeScript either. */
export async function withoutTypes(code: string): Promise<string | undefined> {
  // Most scripts are JavaScript.
  const { transform } = await import('sucrase')
  try {
    // In a function, as it runs: `return` and `await` are allowed there.
    const wrapped = `(async () => {${code}\n})`
    const { code: plain } = transform(wrapped, {
      transforms: ['typescript'],
      disableESTransforms: true,
      preserveDynamicImport: true,
    })
    return plain.trimEnd().replace(/;$/, '').slice('(async () => {'.length, -'\n})'.length)
  } catch {
    return undefined
  }
}
