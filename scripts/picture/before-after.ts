import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { demoCatalogue } from './demo-catalogue.ts'
import { type GatewayCost, measureGateway } from './measure-gateway.ts'

const WIDTH = 860
const HEIGHT = 330
/** How many small boxes fit into a row. */
const PER_ROW = 25

/** Part of `npm run picture`: what a client sends with every request, without and with the gateway, as measured. */
const cost = await measureGateway(demoCatalogue())
writeFileSync(join(import.meta.dirname, '..', '..', 'docs', 'before-after.svg'), draw(cost))
console.log(`docs/before-after.svg: ${titleOf(cost)}`)

function titleOf({ tools, directTokens, shown }: GatewayCost): string {
  return `${figure(tools)} schemas, ${figure(directTokens)} tokens with every request, become ${shown.length} tools and ${figure(tokensOf(shown))} tokens`
}

function draw(cost: GatewayCost): string {
  const { servers, tools, directTokens, shown } = cost
  const after = tokensOf(shown)
  const share = ((100 * (directTokens - after)) / directTokens).toFixed(1)
  const boxes = Array.from({ length: tools }, (_, at) => {
    const [column, row] = [at % PER_ROW, Math.floor(at / PER_ROW)]
    return `<rect x="${32 + column * 15}" y="${92 + row * 11}" width="12" height="8" rx="1.5"/>`
  })
  const doors = shown.map(
    ({ name, tokens }, at) =>
      `<rect x="550" y="${96 + at * 52}" width="278" height="40" rx="6" fill="#238636"/>` +
      `<text x="566" y="${121 + at * 52}" font-weight="700" fill="#ffffff">${name}</text>` +
      `<text x="812" y="${121 + at * 52}" text-anchor="end" fill="#d2f5d8">${figure(tokens)} tokens</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif" font-size="15" role="img" aria-label="${titleOf(cost)}">
<rect width="100%" height="100%" rx="10" fill="#0d1117"/>
<g fill="#e6edf3">
<text x="32" y="42" font-size="19" font-weight="700">Without: ${figure(tools)} schemas of ${servers} servers</text>
<text x="32" y="68" fill="#ff7b72" font-weight="700">${figure(directTokens)} tokens with every request</text>
<g fill="#6e7681">
${boxes.join('\n')}
</g>
<text x="478" y="182" font-size="34" text-anchor="middle">→</text>
<text x="550" y="42" font-size="19" font-weight="700">With Toolcrib: ${shown.length} tools</text>
<text x="550" y="68" fill="#7ee787" font-weight="700">${figure(after)} tokens, ${share} % fewer</text>
${doors.join('\n')}
<text x="32" y="300" fill="#8b949e">what a client sends to the model</text>
<text x="550" y="276" fill="#8b949e">The others are a search away, and</text>
<text x="550" y="298" fill="#8b949e">called through one of these.</text>
</g>
</svg>
`
}

function tokensOf(shown: GatewayCost['shown']): number {
  return shown.reduce((sum, { tokens }) => sum + tokens, 0)
}

function figure(count: number): string {
  return count.toLocaleString('en-US')
}
