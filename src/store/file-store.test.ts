import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, it } from 'vitest'
import { fileStore } from './file-store.ts'
import { storeContract } from './store-contract.ts'

let directory = ''
beforeEach(() => {
  directory = join(mkdtempSync(join(tmpdir(), 'toolcrib-store-')), 'store')
})
afterEach(() => rmSync(join(directory, '..'), { recursive: true }))

describe('fileStore', () => {
  for (const { name, run } of storeContract(openStore)) it(name, run)
})

function openStore() {
  let now = 1_000
  const open = () => fileStore({ directory, clock: () => now })
  return {
    store: open(),
    openAgain: open,
    passTime: (ms: number) => {
      now += ms
    },
  }
}
