import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ServerProcess } from './server-process.ts'

describe.skipIf(process.platform === 'win32')('ServerProcess', () => {
  it('reports that the folder is missing, not the shell', async () => {
    const cwd = join(tmpdir(), 'toolcrib-no-such-folder')
    await expect(ServerProcess.start({ command: 'true', args: [], env: {}, cwd })).rejects.toThrow(
      `its folder "${cwd}" does not exist`,
    )
  })

  it('rejects a file as a folder', async () => {
    const cwd = import.meta.filename
    await expect(ServerProcess.start({ command: 'true', args: [], env: {}, cwd })).rejects.toThrow(
      `its folder "${cwd}" does not exist`,
    )
  })
})
