import { describe, expect, it } from 'vitest'
import { closeTools, nearestNames } from './close-tools.ts'

const TOOLS = [
  'mcp__everything__get-sum-of-all',
  'mcp__everything__get-sum',
  'mcp__files__read_text_file',
  'mcp__files__list_directory',
  'calculate',
].map((name) => ({ name }))

describe('a tool by a part of its name', () => {
  it.each(['get-sum', 'everything.get-sum', 'mcp__everything__get-sum', 'GET SUM', 'everything sum'])(
    'finds get-sum first as "%s"',
    (text) => {
      expect(closeTools(TOOLS, text)[0]?.name).toBe('mcp__everything__get-sum')
    },
  )

  it('finds a tool by words in any order, and nothing for a name that no tool has', () => {
    expect(closeTools(TOOLS, 'file read').map(({ name }) => name)).toEqual(['mcp__files__read_text_file'])
    expect(closeTools(TOOLS, 'get-sun')).toEqual([])
    expect(closeTools(TOOLS, ' ')).toEqual(TOOLS)
  })

  it('names the nearest tools for a misspelt one', () => {
    expect(nearestNames(TOOLS, 'get-sun')[0]).toBe('mcp__everything__get-sum')
    expect(nearestNames(TOOLS, 'zzz')).toEqual([])
  })
})
