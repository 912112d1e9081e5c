import fs, { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { keyOf } from './audit-files.ts'
import { type AuditEntry, AuditLog } from './audit-log.ts'
import { verifyAudit } from './read-audit.ts'

const ENTRY: AuditEntry = {
  ...{ at: '2026-01-01', who: 'ada', tool: 'wipe', digest: '', outcome: 'ok' },
  ...{ decision: 'allow', by: 'policy' },
}

it.each([
  ['first', ''],
  ['later', 'key'],
])(
  'leaves nothing on a full disk (%s use), and its record is whole once there is space',
  async (_use, key) => {
    const directory = mkdtempSync(join(tmpdir(), 'toolcrib-audit-'))
    onTestFinished(() => rmSync(directory, { recursive: true }))
    if (key) keyOf(directory)
    const files = readdirSync(directory)
    const full = vi.spyOn(fs, 'writeSync').mockImplementation(() => {
      throw new Error('ENOSPC')
    })
    syncBuiltinESMExports()
    const log = new AuditLog({ directory }, Date.now)
    for (const _call of [1, 2, 3]) expect(() => log.write(ENTRY)).toThrow('ENOSPC')
    full.mockRestore()
    syncBuiltinESMExports()
    expect(readdirSync(directory)).toEqual(files)
    log.write(ENTRY)
    log.close()
    expect(await verifyAudit(directory)).toEqual({ lines: 2, faults: [] })
  },
)
