import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundle } from './bundle-programs.ts'

const root = join(import.meta.dirname, '..')
// Inside the checkout, so that dependencies are found by name.
const folder = mkdtempSync(join(root, '.readme-'))
afterAll(() => rmSync(folder, { recursive: true }))

const pages = ['README.md', 'docs/stores.md', 'docs/coming-from.md'].map((page) => {
  const text = readFileSync(join(root, page), 'utf8')
  const blocks = [...text.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = '']) => code)
  const programs = blocks.map((code, index) => ({ name: `${page.replace(/\W/g, '-')}-${index + 1}`, code }))
  return [page, programs] as const
})

// Bundled together: compiling the package for each program would take longer than running it.
beforeAll(async () => {
  const programs = pages.flatMap(([, each]) => each)
  const input = programs.map(({ name, code }) => {
    const path = join(folder, `${name}.ts`)
    writeFileSync(path, code)
    return [name, path] as const
  })
  await bundle(Object.fromEntries(input), join(folder, 'dist'))
})

describe.each(pages)('%s', (_page, programs) => {
  it('has programs to run', () => {
    expect(programs.length).toBeGreaterThan(0)
  })

  it.concurrent.each(programs)('runs $name unchanged', async ({ name }) => {
    // Rejects when the program fails.
    const { stderr } = await promisify(execFile)(process.execPath, [join(folder, 'dist', `${name}.js`)], {
      cwd: root,
      env: { ...process.env, NO_COLOR: '1' },
    })
    expect(stderr.replace(/\(node:.*\n?|\(Use `node.*\n?/g, '')).toBe('')
  })
})
