import { announcementBoard } from '@toolcrib/mcp/stores'
import { describe, expect, it } from 'vitest'
import { announcementsContract } from '../testing.ts'

describe('announcements in one process', () => {
  const open = () => {
    const board = announcementBoard({ maxKept: 1_000 })
    return { first: board.open(), second: board.open() }
  }
  for (const { name, run } of announcementsContract(open)) it(name, run)

  it('refuse unknown options', () => {
    expect(() => announcementBoard({ keep: 1 } as object)).toThrow(
      expect.objectContaining({ code: 'config-invalid' }),
    )
  })
})
