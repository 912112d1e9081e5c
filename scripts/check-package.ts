// Checks what `npm pack` would publish of each package: everything it needs, nothing it does not, how large it is, and
// that what runs in a browser imports nothing of Node's, however the build divides it into files.
// `npm run package`, after `npm run build`.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'

interface Expected {
  readonly files: readonly string[]
  readonly maxUnpackedBytes: number
}

/** What each package must contain, and how large it may be. */
const PACKAGES: Readonly<Record<string, Expected>> = {
  core: { files: ['dist/index.js', 'dist/index.d.ts', 'dist/internal.js'], maxUnpackedBytes: 1_500_000 },
  embedder: { files: ['dist/index.js', 'models/tool-table-v6.bin'], maxUnpackedBytes: 11_500_000 },
  mcp: { files: ['dist/index.js', 'dist/redis.js'], maxUnpackedBytes: 1_500_000 },
  gateway: { files: ['dist/index.js', 'dist/inspector/page/index.html'], maxUnpackedBytes: 1_500_000 },
  toolcrib: { files: ['dist/main.js', 'dist/index.d.ts', 'dist/gateway.js'], maxUnpackedBytes: 1_500_000 },
}
/** Sources are not part of the packages, so maps would point nowhere. */
const UNWANTED = /\.map$|(?<!\.d)\.tsx?$|\.test\.|^(src|bench|test)\//

/** What a user with one SDK may write. */
const ONE_SDK = `import OpenAI from 'openai'
import { ToolRegistry } from 'toolcrib'
import { openaiChatModel, runAgent } from 'toolcrib/agent'
const model = openaiChatModel({ model: 'gpt-5', client: new OpenAI() })
const session = await new ToolRegistry().openSession({ dialect: model.dialect })
const { messages } = await runAgent({ model, session, messages: 'hi' })
export const first: OpenAI.ChatCompletionMessageParam | undefined = messages[0]
// @ts-expect-error The messages are typed.
export const wrong: number = messages[0]
`

for (const [folder, expected] of Object.entries(PACKAGES)) check(join('packages', folder), expected)
for (const fault of nodeImports('packages/core/dist')) fail(fault)
checkTypesWithOneSdk()

function check(folder: string, { files, maxUnpackedBytes }: Expected): void {
  run('npx', ['publint', '--strict', folder])
  run('npx', ['attw', '--pack', folder, '--profile', 'esm-only', '--quiet'])
  const listed = run('npm', ['pack', `./${folder}`, '--dry-run', '--json', '--ignore-scripts'])
  const [packed]: { files: { path: string }[]; size: number; unpackedSize: number }[] = JSON.parse(listed)
  if (!packed) throw new Error(`npm pack listed nothing of ${folder}`)
  const paths = packed.files.map(({ path }) => path)
  for (const path of ['LICENSE', 'README.md', ...files])
    if (!paths.includes(path)) fail(`${folder}/${path} is missing`)
  for (const path of paths) if (UNWANTED.test(path)) fail(`${folder}/${path} should not be published`)
  if (packed.unpackedSize > maxUnpackedBytes)
    fail(`${folder}: ${packed.unpackedSize} bytes unpacked are more than ${maxUnpackedBytes}`)
  const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`
  console.log(
    `${folder}: ${paths.length} files, ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked`,
  )
}

/** A user has one provider's SDK: what names the others must still compile, also without `skipLibCheck`. */
function checkTypesWithOneSdk(): void {
  const folder = mkdtempSync(join(tmpdir(), 'toolcrib-types-'))
  const modules = join(folder, 'node_modules')
  mkdirSync(join(modules, '@toolcrib'), { recursive: true })
  const own = ['core', 'embedder', 'mcp', 'gateway'].map((name) => [`packages/${name}`, `@toolcrib/${name}`])
  const others = ['openai', '@types'].map((name) => [`node_modules/${name}`, name])
  for (const [from = '', to = ''] of [...own, ['packages/toolcrib', 'toolcrib'], ...others])
    symlinkSync(resolve(from), join(modules, to), 'junction')
  const program = join(folder, 'one-sdk.ts')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  writeFileSync(program, ONE_SDK)
  const flags =
    '--noEmit --strict --module nodenext --target es2023 --skipLibCheck false --preserveSymlinks --ignoreConfig'
  try {
    run('npx', ['tsc', ...flags.split(' '), '--types', 'node', program])
  } catch (error) {
    fail(`with one SDK installed: ${error instanceof Error && 'stdout' in error ? error.stdout : error}`)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function run(command: string, args: readonly string[]): string {
  return execFileSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

function fail(fault: string): void {
  console.error(fault)
  process.exitCode = 1
}

/** What the entry points of a package import of Node's, at once or on first use, each with the file that does. */
function nodeImports(dist: string): string[] {
  const { exports } = JSON.parse(readFileSync(join(dist, '../package.json'), 'utf8'))
  const { './package.json': _, ...entries } = exports
  const reached = new Set(
    Object.values<{ default: string }>(entries).map((entry) => join(dist, '..', entry.default)),
  )
  const found: string[] = []
  for (const path of reached) {
    const imports = readFileSync(path, 'utf8').matchAll(
      /^(?:import|export)\b[^'"`\n]*["']([^"'\n]+)["']|\bimport\("([^"\n]+)"\)/gm,
    )
    for (const [, atOnce, onUse] of imports) {
      const module = atOnce ?? onUse ?? ''
      if (module.startsWith('.')) reached.add(join(dirname(path), module))
      else if (module.startsWith('node:')) found.push(`${path} imports ${module}, which no browser has`)
    }
  }
  return found
}
