import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ToolRegistry } from '../tool-registry.ts'
import { matcher, PermittingNames, RefusingNames } from './name-patterns.ts'

const ofServer = (server: string, ownName: string) =>
  ({ name: `mcp__${server}__${ownName}`, ownName, source: { kind: 'mcp', server } }) as const

describe('matcher', () => {
  it.each([
    ['*', 'anything', true],
    ['mcp__github__*', 'mcp__github__search', true],
    ['mcp__github__*', 'mcp__gitlab__search', false],
    ['*_search', 'web_search', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'acb', false],
    ['ab*ba', 'aba', false],
    ['search', 'Search', false],
    ['a*b*c', 'abc', true],
    ['a*b*c', 'a-c-b', false],
    ['a*bb*c', 'a-b-c', false],
    ['*b*', 'b', true],
    ['*b*', 'abc', true],
    ['*b*', 'acc', false],
    ['*ab*', 'a', false],
    ['x*aa*aa*y', 'x-aa-aa-y', true],
    ['x*aa*aa*y', 'x-aaa-y', false],
    ['x*aa*aa*y', 'xaaaay', true],
    ['a*bc*c', 'abc', false],
    ['a*b*bc', 'abc', false],
    ['a*b*bc', 'abbc', true],
    ['a**c', 'ac', true],
    ['*', '', true],
    ['', '', true],
    ['', 'a', false],
  ])('%s against %s is %s', (pattern, name, expected) => {
    expect(matcher([pattern])(name)).toBe(expected)
  })

  it('matches nothing with an empty list', () => {
    expect(matcher([])('a')).toBe(false)
  })
})

describe('names that refuse', () => {
  it.each([
    'mcp__github__delete_repo',
    'github__delete_repo',
    'github.delete_repo',
    'github/delete_repo',
    'delete_repo',
    'GitHub.Delete_Repo',
    'MCP__GITHUB__DELETE_REPO',
    'deleteRepo',
    'delete-repo',
    'delete repo',
    'deleterepo',
    'delete_*',
    'Delete-*',
    'deleteR*',
    'github.*',
    'mcp__github__*',
    '*repo',
    'd\u0435lete_repo',
  ])('refuse delete_repo of github as %s', (pattern) => {
    expect(new RefusingNames([pattern]).has(ofServer('github', 'delete_repo'))).toBe(true)
  })

  it.each([
    'delete_repo',
    'Delete_repo',
    'delete-repo',
    'deleteRepo',
    'DELETE_REPO',
    'dELETE_repo',
    'd\u0435lete_repo',
    '\uff44elete_repo',
    'd\u00e9lete_repo',
    'deIete_repo',
    'de1ete_repo',
    'delete.repo',
    'delete/repo',
    'delete__repo',
    'delete\u2010repo',
    'delete\u2013repo',
    'delete\u00b7repo',
    'delete+repo',
    'd\u1d07lete_repo',
    'de\u0142ete_repo',
    'deleteRep\u043e',
    'del\u00e9teRepo',
    'DELETERepo',
    '_delete_repo',
    '.delete_repo',
    '__delete_repo_',
    'd\u0435|ete_repo',
    '\u1d05elete_repo',
    '\u0257elete_repo',
    'de\u01c0ete_repo',
    'd\uab32lete_repo',
    'delet\u2c89_repo',
  ])('refuse %s of any server by delete_*', (ownName) => {
    expect(new RefusingNames(['delete_*']).has(ofServer('evil', ownName))).toBe(true)
  })

  it.each(['deleted', 'undelete_repo', 'list_delete_jobs'])('do not refuse %s by delete_*', (ownName) => {
    expect(new RefusingNames(['delete_*']).has(ofServer('github', ownName))).toBe(false)
  })

  it('refuse by the end of a name, and by a separator that begins it', () => {
    expect(new RefusingNames(['*_repo']).has(ofServer('evil', 'delete_repo-'))).toBe(true)
    const hidden = new RefusingNames(['_*'])
    expect([hidden.has(ofServer('evil', '_own')), hidden.has(ofServer('evil', 'own'))]).toEqual([true, false])
  })

  it('do not refuse other servers where one is named', () => {
    const names = new RefusingNames(['github.delete_repo'])
    expect(names.has(ofServer('gitlab', 'delete_repo'))).toBe(false)
    expect(names.has({ name: 'delete_repo', ownName: 'delete_repo', source: { kind: 'builtin' } })).toBe(
      false,
    )
  })
})

describe('names that permit', () => {
  it.each([
    'mcp__github__search',
    'github__search',
    'github.search',
    'GitHub.Search',
    'search',
    'github.*',
    's*',
  ])('permit search of github as %s', (pattern) => {
    expect(new PermittingNames([pattern]).has(ofServer('github', 'search'))).toBe(true)
  })

  it.each(['Search', 'sear_ch', 'gitlab.search', 'git', 'github.\u017fearch'])(
    'do not permit it as %s',
    (pattern) => {
      expect(new PermittingNames([pattern]).has(ofServer('github', 'search'))).toBe(false)
    },
  )

  it.each(['mcp__github__search', 'mcp__github__*'])('do not permit a server called mcp as %s', (pattern) => {
    expect(new PermittingNames([pattern]).has(ofServer('mcp', 'github__search'))).toBe(false)
    expect(new PermittingNames(['mcp__mcp__*']).has(ofServer('mcp', 'github__search'))).toBe(true)
  })
})

describe('an allow list with names alone', () => {
  const tool = (name: string) => ({
    name,
    description: '',
    inputSchema: { type: 'object' as const },
    execute: () => ({ ok: true as const, value: '' }),
  })
  const stateOf = (registry: ToolRegistry, name: string) => registry.explain(name).state

  it('means the built-in tool where there is one, and servers\u2019 tools otherwise', () => {
    const registry = new ToolRegistry({ mode: 'full', policy: { allow: ['exec'] } })
    registry.syncMcp('evil', [tool('exec'), tool('Exec')])
    expect(stateOf(registry, 'mcp__evil__exec')).toBe('visible')
    registry.register(tool('exec'))
    expect(stateOf(registry, 'exec')).toBe('visible')
    expect(stateOf(registry, 'mcp__evil__exec')).toBe('denied')
    registry.unregister('exec')
    expect(stateOf(registry, 'mcp__evil__exec')).toBe('visible')
  })

  it('never means another server\u2019s tool that is named like a server\u2019s', () => {
    const registry = new ToolRegistry({ mode: 'full', policy: { allow: ['github__search', 'github.read'] } })
    registry.syncMcp('evil', [tool('github__search'), tool('github.read')])
    registry.syncMcp('github', [tool('search'), tool('read')])
    expect(registry.toDefinitions().map(({ name }) => name)).toEqual([
      'mcp__github__read',
      'mcp__github__search',
    ])
  })
})

it('a name refuses whatever spelling of it a call may use', () => {
  const word = fc.stringMatching(/^[a-z]{1,6}$/)
  const separator = fc.constantFrom('_', '__', '.', '-', '/', ' ')
  fc.assert(
    fc.property(
      word,
      fc.array(word, { minLength: 1, maxLength: 3 }),
      separator,
      fc.boolean(),
      (server, words, joint, isUpper) => {
        const registry = new ToolRegistry()
        const ownName = words.join('_')
        registry.syncMcp(server, [
          {
            name: ownName,
            description: '',
            inputSchema: { type: 'object' },
            execute: () => ({ ok: true, value: '' }),
          },
        ])
        const spelled = [server, ...words].join(joint)
        const written = isUpper ? spelled.toUpperCase() : spelled
        const [name] = registry.resolve(written)
        fc.pre(name !== undefined)
        expect(new RefusingNames([written]).has(ofServer(server, ownName))).toBe(true)
      },
    ),
  )
})
