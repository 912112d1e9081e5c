import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
// Inside the checkout, so that the package and its dependencies are found by name.
const folder = mkdtempSync(join(root, '.readme-'))
afterAll(() => rmSync(folder, { recursive: true }))

describe.each(['README.md', 'docs/stores.md'])('%s', (page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)

  it('has programs to run', () => {
    expect(blocks.length).toBeGreaterThan(0)
  })

  it.each(blocks.map((code, index) => [index + 1, code] as const))(
    'runs program %i unchanged',
    (index, code) => {
      const path = join(folder, `${page.replace(/\W/g, '-')}-${index}.ts`)
      writeFileSync(path, code)
      const args = ['--import', 'tsx', path]
      const env = { ...process.env, TSX_TSCONFIG_PATH: join(root, 'tsconfig.json'), NO_COLOR: '1' }
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8', env })
      expect(stderr.replace(/\(node:.*\n?|\(Use `node.*\n?/g, '')).toBe('')
      expect(status).toBe(0)
    },
  )
})
