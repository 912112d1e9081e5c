import { describe, expect, it } from 'vitest'
import { OpenMemories } from './open-memories.ts'

function open(limits: { maxOpen: number; maxBytes: number }) {
  const released: string[] = []
  const memories = new OpenMemories(limits)
  const use = (owner: string, bytes?: number) => {
    const memory = memories.get(owner) ?? { release: () => void released.push(owner) }
    memories.used(owner, memory, bytes)
    return memory
  }
  return { memories, released, use }
}

describe('open memories', () => {
  it('release the one that was not used the longest when there are too many', () => {
    const { memories, released, use } = open({ maxOpen: 2, maxBytes: 100 })
    use('a')
    use('b')
    use('a')
    use('c')
    expect(released).toEqual(['b'])
    expect(['a', 'b', 'c'].filter((owner) => memories.get(owner))).toEqual(['a', 'c'])
  })

  it('release as many as take too many bytes, and never the one in use', () => {
    const { released, use } = open({ maxOpen: 10, maxBytes: 100 })
    use('a', 40)
    use('b', 40)
    use('a')
    use('c', 40)
    expect(released).toEqual(['b'])
    use('a', 20)
    use('d', 40)
    expect(released).toEqual(['b'])
    use('e', 500)
    expect(released).toEqual(['b', 'c', 'a', 'd'])
    use('f', 1)
    expect(released).toEqual(['b', 'c', 'a', 'd', 'e'])
  })

  it('have one memory per owner', () => {
    const { memories, released, use } = open({ maxOpen: 1, maxBytes: 100 })
    const old = use('a', 60)
    use('b', 60)
    use('a', 60)
    expect(released).toEqual(['a', 'b'])
    memories.used('a', old, 60)
    expect(released).toEqual(['a', 'b', 'a'])
    expect(memories.get('a')).toBe(old)
  })
})
