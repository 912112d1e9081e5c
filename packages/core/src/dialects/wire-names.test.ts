import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toWireName } from '../names.ts'
import { WireNames } from './wire-names.ts'

const PATTERN = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/

describe('wire names', () => {
  it('leave a valid name unchanged', () => {
    expect(toWireName('mcp__github__search-issues')).toBe('mcp__github__search-issues')
    expect(toWireName('__proto__')).toBe('__proto__')
  })

  it('keep a name’s valid characters and add a hash of the whole', () => {
    expect(toWireName('files.read')).toMatch(/^files_read_[0-9a-f]{10}$/)
    expect(toWireName('files.read')).not.toBe(toWireName('files read'))
    expect(toWireName('Übersicht öffnen')).toMatch(/^Ubersicht_offnen_[0-9a-f]{10}$/)
    expect(toWireName('天気')).toMatch(PATTERN)
    expect(toWireName('1password')).toMatch(/^_1password_/)
  })

  it('are the same after a restart', () => {
    expect(toWireName('files.read')).toBe('files_read_feef312208')
  })

  it('are valid for every provider, whatever was registered', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 256, unit: 'grapheme' }), (name) => {
        expect(toWireName(name)).toMatch(PATTERN)
      }),
    )
  })

  it('never collide, and map back', () => {
    const name = fc.oneof(
      fc.string({ minLength: 1, maxLength: 256 }),
      fc.constantFrom('a.b', 'a b', 'a_b', '__proto__', 'constructor', 'x'.repeat(64), 'x'.repeat(65)),
      // Names that look like shortened ones.
      fc.string({ minLength: 1, maxLength: 12 }).map(toWireName),
    )
    fc.assert(
      fc.property(fc.uniqueArray(name, { maxLength: 40 }), (names) => {
        const wire = new WireNames(names)
        const wireNames = names.map((registered) => wire.toWire(registered))
        expect(new Set(wireNames).size).toBe(names.length)
        expect(wireNames.map((wireName) => wire.fromWire(wireName))).toEqual(names)
      }),
    )
  })

  it('are changed when a registered name looks like a changed one', () => {
    const forged = toWireName('files.read')
    const wire = new WireNames([forged, 'files.read'])
    expect(wire.toWire('files.read')).toBe(forged)
    expect(wire.toWire(forged)).not.toBe(forged)
  })

  it('return an unknown name unchanged, so that the call can explain it', () => {
    expect(new WireNames(['a']).fromWire('b')).toBe('b')
    expect(new WireNames([]).fromWire('__proto__')).toBe('__proto__')
  })

  it('of a set that goes on from another leave its names as they are', () => {
    const before = new WireNames(['a.b', 'plain'])
    const taken = before.toWire('a.b')
    const after = new WireNames([taken, 'plain', 'new'], before)
    expect([after.toWire('a.b'), after.fromWire(taken), after.has('a.b')]).toEqual([taken, 'a.b', true])
    expect(after.toWire(taken)).not.toBe(taken)
    expect(after.fromWire(after.toWire(taken))).toBe(taken)
    expect([after.toWire('new'), before.has('new'), before.hasWire('new')]).toEqual(['new', false, false])
  })
})
