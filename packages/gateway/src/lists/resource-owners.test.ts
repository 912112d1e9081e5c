import { describe, expect, it } from 'vitest'
import { ResourceOwners } from './resource-owners.ts'

const listed = (given: Record<string, readonly string[]>) =>
  Object.entries(given).flatMap(([server, keys]) => keys.map((key) => ({ server, key, item: {} })))

function owners(
  uri: string,
  { uris = {}, templates = {} }: Record<'uris' | 'templates', Record<string, readonly string[]>>,
) {
  return new ResourceOwners(['first', 'second', 'third'], {
    resources: listed(uris),
    templates: listed(templates),
  }).of(uri)
}

describe('the owner of a resource', () => {
  it.each([
    ['who lists it', { uris: { second: ['a://x'] } }, ['second']],
    ['whose template it matches', { templates: { second: ['a://{x}'] } }, ['second']],
    ['nobody', { uris: { first: ['a://y'] }, templates: { second: ['a://{x}/z', '{any}'] } }, []],
    ['undecided if two list it', { uris: { third: ['a://x'], second: ['a://x'] } }, ['second', 'third']],
    [
      'undecided if two have one template, whatever its variable is called',
      { templates: { third: ['a://{+path}'], first: ['a://{name}'] } },
      ['first', 'third'],
    ],
    [
      'the first, though a later server has a longer template',
      { templates: { first: ['a:{+x}'], second: ['a://{x}'] } },
      ['first'],
    ],
    [
      'the first, though a later server lists the very URI',
      { templates: { first: ['a://{x}'] }, uris: { second: ['a://x'] } },
      ['first'],
    ],
    [
      'the first that lists it, though later servers have templates',
      { uris: { first: ['a://x'] }, templates: { second: ['a://{x}'], third: ['a://{x}'] } },
      ['first'],
    ],
  ])('is %s', (_who, given, expected) => {
    expect(owners('a://x', { uris: {}, templates: {}, ...given })).toEqual(expected)
  })
})
