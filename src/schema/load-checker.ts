let checker: Promise<typeof import('./check-arguments.ts')> | undefined

/**
 * Loads what checks arguments and results, which no program needs before its first call. Imported once for all: another
 * import of the same module still takes its time.
 */
export function loadChecker(): Promise<typeof import('./check-arguments.ts')> {
  checker ??= import('./check-arguments.ts').catch((error: unknown) => {
    checker = undefined
    throw error
  })
  return checker
}
