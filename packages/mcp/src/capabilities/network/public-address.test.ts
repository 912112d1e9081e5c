import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isPublicAddress } from './public-address.ts'

const byte = fc.integer({ min: 0, max: 255 })
const privateIpv4 = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127, 224, 239, 240, 255), byte, byte, byte),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), byte, byte),
  fc.tuple(fc.constant(169), fc.constant(254), byte, byte),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), byte, byte),
  fc.tuple(fc.constant(192), fc.constant(168), byte, byte),
)
const hex = (high: number, low: number) => ((high << 8) | low).toString(16)

describe('isPublicAddress', () => {
  it('recognises public addresses of both families', () => {
    for (const address of [
      '8.8.8.8',
      '93.184.216.34',
      '100.63.0.1',
      '172.32.0.1',
      '192.167.1.1',
      '223.255.255.255',
    ])
      expect(isPublicAddress(address), address).toBe(true)
    for (const address of ['2606:4700::1111', '2001:4860:4860::8888', '2a00:1450::1'])
      expect(isPublicAddress(address), address).toBe(true)
  })

  it('rejects every private range', () => {
    fc.assert(fc.property(privateIpv4, (bytes) => !isPublicAddress(bytes.join('.'))))
  })

  it('rejects IPv6 that embeds an IPv4 address, in every form', () => {
    fc.assert(
      fc.property(privateIpv4, ([a, b, c, d]) => {
        const dotted = `${a}.${b}.${c}.${d}`
        const groups = `${hex(a, b)}:${hex(c, d)}`
        for (const address of [
          `::ffff:${dotted}`,
          `::ffff:${groups}`,
          `0:0:0:0:0:ffff:${groups}`,
          `::${dotted}`,
          `64:ff9b::${dotted}`,
          `64:ff9b:1::${dotted}`,
          `2002:${groups}::1`,
          `2001::${groups}`,
          `2001:0:1:2:3:4:${groups}`,
        ])
          expect(isPublicAddress(address), address).toBe(false)
      }),
    )
  })

  it('rejects local, multicast and reserved IPv6, and invalid addresses', () => {
    for (const address of [
      '::',
      '::1',
      'fe80::1',
      'fe80::1%eth0',
      'fc00::1',
      'fd12::1',
      'fec0::1',
      'ff02::1',
      '100::1',
    ])
      expect(isPublicAddress(address), address).toBe(false)
    for (const address of [
      '2001:db8::1',
      '3fff::1',
      '4000::1',
      '',
      'example.com',
      '1.2.3',
      '0x7f.1',
      '2130706433',
    ])
      expect(isPublicAddress(address), address).toBe(false)
  })
})
