// Prints what an installation of the package contains, as CycloneDX: its dependencies, and the packages that are bundled
// into dist/, which npm knows as development dependencies only. `npm run --silent bom > toolcrib.cdx.json`
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Bundled by tsdown.config.ts and by the page; NOTICE.md has their licences. */
const BUNDLED = [
  'commander',
  'picocolors',
  'tokenx',
  'gpt-tokenizer',
  'preact',
  '@preact/signals',
  '@preact/signals-core',
]

interface Component {
  readonly 'bom-ref': string
  readonly properties?: readonly { readonly name: string; readonly value: string }[]
}

const bill: { components: Component[]; dependencies: { ref: string; dependsOn: string[] }[] } = JSON.parse(
  execFileSync('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'inherit'],
  }),
)
const { packages }: { packages: Readonly<Record<string, { version: string }>> } = JSON.parse(
  readFileSync('package-lock.json', 'utf8'),
)
// Tools that only the development uses may have other versions of them.
const bundled = BUNDLED.map((name) => `${name}@${packages[`node_modules/${name}`]?.version}`)
const components = bill.components.filter((component) => isShipped(component))
const refs = new Set(components.map((component) => component['bom-ref']))
const dependencies = bill.dependencies.flatMap(({ ref, dependsOn }, at) =>
  // The first one is the package itself.
  at === 0 || refs.has(ref) ? [{ ref, dependsOn: dependsOn.filter((each) => refs.has(each)) }] : [],
)
console.log(JSON.stringify({ ...bill, components, dependencies }, null, 2))

function isShipped({ 'bom-ref': ref, properties = [] }: Component): boolean {
  const isDevelopment = properties.some(({ name }) => name === 'cdx:npm:package:development')
  return !isDevelopment || bundled.includes(ref)
}
