import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { wrap } from '../../src/cli/text.ts'

/** `npm run picture`: renders the tour's terminal output as an SVG for the README. */
const root = join(import.meta.dirname, '..', '..')
const { stdout, status, stderr } = spawnSync(process.execPath, ['dist/cli/main.js', 'tour'], {
  cwd: root,
  encoding: 'utf8',
  env: { ...process.env, FORCE_COLOR: '1', NO_COLOR: undefined, COLUMNS: '110' },
})
if (status !== 0) throw new Error(`the tour failed: ${stderr}`)

// Colour codes: the escape character, a number, m.
const CODE = new RegExp(`(${String.fromCharCode(27)}\\[[\\d;]*m)`, 'u')

const LINE_HEIGHT = 19
const MARGIN = 18
const COLUMNS = 112
const CHARACTER_WIDTH = 7.83
const COLOURS: Readonly<Record<string, string>> = {
  '31': '#ff7b72',
  '32': '#7ee787',
  '33': '#e3b341',
  '36': '#79c0ff',
}

// As it looks where it is installed, in a terminal of this width.
const shown = stdout.trimEnd().replaceAll('node dist/cli/main.js', 'toolcrib')
// What is wrapped keeps its style on the next line.
const style = { colour: '', isBold: false, isDim: false }
const lines = wrap(withoutTemporaryPaths(shown), COLUMNS).split('\n')
const width = Math.ceil(COLUMNS * CHARACTER_WIDTH + 2 * MARGIN)
const height = lines.length * LINE_HEIGHT + 2 * MARGIN
const rows = lines.map((line, at) => {
  const y = MARGIN + (at + 1) * LINE_HEIGHT - 5
  return `<text x="${MARGIN}" y="${y}" xml:space="preserve">${spans(line)}</text>`
})
const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="13" fill="#e6edf3" role="img" aria-label="The tour of toolcrib in a terminal">
<rect width="100%" height="100%" rx="10" fill="#0d1117"/>
${rows.join('\n')}
</svg>
`
writeFileSync(join(root, 'docs', 'tour.svg'), svg)
console.log(`docs/tour.svg: ${lines.length} lines`)

function withoutTemporaryPaths(text: string): string {
  return text.replace(/\/\S*toolcrib-tour-\w+\//g, '/workshop/')
}

function spans(line: string): string {
  return line
    .split(CODE)
    .map((piece) => {
      if (!CODE.test(piece)) return piece === '' ? '' : span(piece, style)
      const code = piece.slice(2, -1)
      if (code === '1') style.isBold = true
      if (code === '2') style.isDim = true
      if (code === '22') style.isBold = style.isDim = false
      if (code === '39') style.colour = ''
      style.colour = COLOURS[code] ?? style.colour
      return ''
    })
    .join('')
}

function span(
  text: string,
  { colour, isBold, isDim }: { colour: string; isBold: boolean; isDim: boolean },
): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  const attributes = [
    colour && `fill="${colour}"`,
    isBold && 'font-weight="700"',
    isDim && !colour && 'fill="#8b949e"',
  ].filter(Boolean)
  return attributes.length > 0 ? `<tspan ${attributes.join(' ')}>${escaped}</tspan>` : escaped
}
