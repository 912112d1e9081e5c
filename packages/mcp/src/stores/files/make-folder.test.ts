import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makeFolder } from './make-folder.ts'

const PRIVATE = { mode: 0o700 }

describe('makeFolder', () => {
  let folder = ''
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'toolcrib-folder-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('makes what is missing above, for its owner alone, and may be asked again', async () => {
    const path = join(folder, 'a', 'b', 'c')
    await Promise.all([makeFolder(path, PRIVATE), makeFolder(path, PRIVATE)])
    await makeFolder(path, PRIVATE)
    for (const made of [path, join(folder, 'a')]) expect(statSync(made).mode & 0o777).toBe(0o700)
  })

  it('says why where a file is in the way', async () => {
    writeFileSync(join(folder, 'file'), '')
    await expect(makeFolder(join(folder, 'file', 'a'), PRIVATE)).rejects.toMatchObject({ code: 'ENOTDIR' })
  })

  it.runIf(existsSync('/proc/self'))(
    'gives up where no folder can be made, instead of asking for ever',
    async () => {
      await expect(makeFolder('/proc/nope/toolcrib/catalogues', PRIVATE)).rejects.toMatchObject({
        code: 'ENOENT',
      })
    },
  )
})
