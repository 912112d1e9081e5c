import { appendFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SavedScript } from '@toolcrib/core'
import { expect, it, onTestFinished } from 'vitest'
import { SavedScripts } from './saved-scripts.ts'

const CODE = 'return await tools.shop.get_order(input)'
const ABOUT = { description: 'Gets */ an order.', input: '{"type":"object"}' }

async function folder(name = 'toolcrib.toml', text = '[scripts]\nenabled = true\n') {
  const directory = await mkdtemp(join(tmpdir(), 'toolcrib-saved-'))
  onTestFinished(() => rm(directory, { recursive: true }))
  const config = join(directory, name)
  await writeFile(config, text)
  const open = async () => {
    const saved = [...(await readFile(config, 'utf8')).matchAll(/^(\w+) = "([0-9a-f]{64})"$/gm)]
    const hashes = Object.fromEntries(saved.map(([, script, hash]) => [script, hash ?? '']))
    return SavedScripts.of({ files: [config], scripts: { saved: hashes } })
  }
  return { config, open }
}

async function registered(scripts: SavedScripts) {
  const found: SavedScript[] = []
  const faults = await scripts.register({ registerScript: (script) => void found.push(script) })
  return { found, faults }
}

it('writes a file and its hash, and registers what was saved', async () => {
  const { config, open } = await folder()
  await (await open()).save('get_it', { ...ABOUT, code: CODE })
  await (await open()).save('get_other', { ...ABOUT, code: CODE })
  await (await open()).save('get_it', { ...ABOUT, code: `${CODE} // new` })
  const text = await readFile(config, 'utf8')
  expect(text.match(/\[scripts\.saved\]/g)).toHaveLength(1)
  expect(text.match(/^get_it/gm)).toHaveLength(1)
  const { found, faults } = await registered(await open())
  expect(faults).toEqual([])
  expect(found.find(({ name }) => name === 'get_it')).toEqual({
    name: 'get_it',
    description: 'Gets */ an order.',
    inputSchema: { type: 'object' },
    code: `${CODE} // new\n`,
  })
})

it('leaves out a script whose file changed, until it is saved again', async () => {
  const { open } = await folder()
  const { file } = await (await open()).save('get_it', { ...ABOUT, code: CODE })
  await appendFile(file, 'tools.shop.wipe()\n')
  expect(await registered(await open())).toMatchObject({
    found: [],
    faults: [expect.stringContaining('not what was saved')],
  })
  await (await open()).save('get_it', {})
  expect(await registered(await open())).toMatchObject({ found: [{ name: 'get_it' }], faults: [] })
  await rm(file)
  expect((await registered(await open())).faults).toEqual([expect.stringContaining('left out')])
})

it('says what a config that is not TOML needs, and refuses what it cannot read', async () => {
  const { open } = await folder('toolcrib.json', '{}')
  const scripts = await open()
  expect(await scripts.save('get_it', { ...ABOUT, code: CODE })).toMatchObject({ isInConfig: false })
  await expect(scripts.save('../x', { ...ABOUT, code: CODE })).rejects.toThrow('no name')
  await expect(scripts.save('x', { code: CODE })).rejects.toThrow('--description')
  await expect(scripts.save('x', { ...ABOUT, code: CODE, input: '{' })).rejects.toThrow('not JSON')
  await expect(scripts.save('none', {})).rejects.toThrow('name the run')
})
