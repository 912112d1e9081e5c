import { readdir, readFile } from 'node:fs/promises'

/** The variable that marks whatever a server starts; it is passed on to children, and theirs. */
export const SERVER_ID = 'TOOLCRIB_SERVER_ID'

/**
 * Sends a signal to every process that was started with this id in its environment, also one that left its process
 * group as daemons do. Answers how many there were. Only Linux shows what an environment holds; elsewhere there are none.
 */
export async function signalMarked(id: string, signal: NodeJS.Signals): Promise<number> {
  const pids = await markedProcesses(`${SERVER_ID}=${id}`)
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended by itself meanwhile.
    }
  }
  return pids.length
}

async function markedProcesses(mark: string): Promise<number[]> {
  const entries = await readdir('/proc').catch(() => [])
  const pids = entries.filter((entry) => /^\d+$/.test(entry))
  const isMarked = await Promise.all(
    // Those of other people cannot be read, and are not ours to end.
    pids.map((pid) =>
      readFile(`/proc/${pid}/environ`).then(
        (environment) => environment.includes(mark),
        () => false,
      ),
    ),
  )
  return pids.filter((_, at) => isMarked[at]).map(Number)
}
