import { spawn } from 'node:child_process'

const OPENERS: Readonly<Record<string, readonly [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
}

/** Opens a page in the user's browser. Resolves with false when there is no way to. */
export function openPage(
  url: string,
  { BROWSER }: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const [command, ...args] = BROWSER ? [BROWSER] : (OPENERS[process.platform] ?? ['xdg-open'])
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], { stdio: 'ignore', detached: true })
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
