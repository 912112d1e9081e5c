// Checks what `npm pack` would publish: everything the package needs, nothing it does not, and how large it is.
// Part of `npm run package`, after `npm run build`.
import { execFileSync } from 'node:child_process'

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
]
for (const fault of faults) console.error(fault)
const megabytes = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`
console.log(
  `${paths.length} files, ${megabytes(packed.size)} packed, ${megabytes(packed.unpackedSize)} unpacked`,
)
if (faults.length > 0) process.exitCode = 1
