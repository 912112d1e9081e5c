import { BlockList, isIP } from 'node:net'

/**
 * True for an address of the public internet. False for private, loopback, link-local, shared (CGNAT), multicast,
 * reserved and documentation ranges, and for every IPv6 form that embeds an IPv4 address (mapped, compatible, NAT64,
 * 6to4, Teredo), since its destination is decided elsewhere.
 */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address)
  if (version === 4) return !SPECIAL_IPV4.check(address, 'ipv4')
  // An address with a zone (`fe80::1%eth0`) is only valid on a local link.
  if (version !== 6 || address.includes('%')) return false
  return GLOBAL_IPV6.check(address, 'ipv6') && !SPECIAL_IPV6.check(address, 'ipv6')
}

const SPECIAL_IPV4 = blockList('ipv4', [
  '0.0.0.0/8', // this network, unspecified
  '10.0.0.0/8', // private
  '100.64.0.0/10', // shared by carriers; also some clouds' metadata
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // a cloud's platform service, reachable from its machines only
  '169.254.0.0/16', // link-local; most clouds' metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
])

/**
 * The only publicly routed IPv6 range; loopback, mapped, NAT64, unique-local and link-local addresses are outside it.
 */
const GLOBAL_IPV6 = blockList('ipv6', ['2000::/3'])

const SPECIAL_IPV6 = blockList('ipv6', [
  '2001::/23', // protocol assignments, Teredo among them
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
])

function blockList(family: 'ipv4' | 'ipv6', subnets: readonly string[]): BlockList {
  const list = new BlockList()
  for (const subnet of subnets) {
    const [network = '', prefix] = subnet.split('/')
    list.addSubnet(network, Number(prefix), family)
  }
  return list
}
