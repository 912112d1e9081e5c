// Checks what `npm pack` would publish: everything the package needs, nothing it does not, how large it is, and that what
// runs in a browser imports nothing of Node's, however the build divides it into files.
// Part of `npm run package`, after `npm run build`.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** 13 MB at the time of writing, 8 of them the table of word vectors. */
const MAX_UNPACKED_BYTES = 15_000_000
const REQUIRED = [
  'LICENSE',
  'NOTICE.md',
  'README.md',
  'CHANGELOG.md',
  'dist/cli/main.js',
  'dist/index.d.ts',
  'dist/inspector/page/index.html',
]
/** Sources are not part of the package, so maps would point nowhere. */
const UNWANTED = /\.map$|^(?!examples\/).*(?<!\.d)\.tsx?$|\.test\.|^(src|bench|test)\//

/** Entry points that run in a browser, besides the dialects. */
const FOR_BROWSERS = ['dist/index.js', 'dist/agent/index.js', 'dist/testing.js']

const [packed]: { files: { path: string; size: number }[]; size: number; unpackedSize: number }[] =
  JSON.parse(
    execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
      encoding: 'utf8',
      maxBuffer: 64 * 1024 * 1024,
      shell: process.platform === 'win32',
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  )
if (!packed) throw new Error('npm pack listed nothing')
const paths = packed.files.map(({ path }) => path)
const faults = [
  ...REQUIRED.filter((path) => !paths.includes(path)).map((path) => `${path} is missing`),
  ...paths.filter((path) => UNWANTED.test(path)).map((path) => `${path} should not be published`),
  ...(packed.unpackedSize > MAX_UNPACKED_BYTES
    ? [`${packed.unpackedSize} bytes unpacked are more than ${MAX_UNPACKED_BYTES}`]
    : []),
  ...nodeImports([...FOR_BROWSERS, ...paths.filter((path) => /^dist\/dialects\/[^/]+\.js$/.test(path))]),
]
for (const fault of faults) console.error(fault)
const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`
console.log(
  `${paths.length} files, ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked`,
)
if (faults.length > 0) process.exitCode = 1

/** What the entry points import of Node's, at once or on first use, each with the file that does. */
function nodeImports(entries: readonly string[]): string[] {
  const reached = new Set(entries)
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
