import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { plural, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { bySuspect, type Finding, messagesOf } from './suspects.ts'

const FIRST = 10
const MORE = 50
/** A tool that is suspicious in twenty places is as suspicious as one in two. */
const QUOTED = 2

const TONES: Readonly<Record<Finding['severity'], Tone>> = { high: 'bad', medium: 'warn', low: 'plain' }

/** What the scanner found in descriptions, tool by tool, the worst first. */
export function Findings({ findings }: { readonly findings: Output<'safety'>['findings'] }) {
  const [limit, setLimit] = useState(FIRST)
  const suspects = bySuspect(findings)
  const rest = suspects.length - limit
  return (
    <Card
      title="Suspicious texts"
      aside={suspects.length > 0 && <span class="small muted">in {plural(suspects.length, 'tool')}</span>}
    >
      {suspects.length === 0 ? (
        <p class="muted">None found in names, descriptions and schemas.</p>
      ) : (
        <ul class="list">
          {suspects.slice(0, limit).map((suspect) => (
            <li key={`${suspect.server} ${suspect.tool}`}>
              <div class="row">
                <Badge tone={TONES[suspect.severity]}>{suspect.severity}</Badge>
                <a href={linkTo('tools', `mcp__${suspect.server}__${suspect.tool}`)} class="tool-name">
                  {suspect.server} · {suspect.tool}
                </a>
              </div>
              <Reasons findings={suspect.findings} />
            </li>
          ))}
        </ul>
      )}
      {rest > 0 && (
        <button type="button" class="button below" onClick={() => setLimit(limit + MORE)}>
          Show {whole(Math.min(MORE, rest))} more of {whole(rest)}
        </button>
      )}
    </Card>
  )
}

/** Why a tool is suspicious, and the words that made it so. */
export function Reasons({ findings }: { readonly findings: readonly Finding[] }) {
  const excerpts = excerptsOf(findings)
  const others = excerpts.length - QUOTED
  return (
    <>
      <p>{messagesOf(findings)}</p>
      {excerpts.slice(0, QUOTED).map(({ place, excerpt }) => (
        <figure key={place} class="excerpt">
          <figcaption class="small muted wrap">{place}</figcaption>
          <div class="diff">
            <VisibleText text={excerpt} />
          </div>
        </figure>
      ))}
      {others > 0 && <p class="small muted excerpt">and in {plural(others, 'other place')}</p>}
    </>
  )
}

/** The longest words of each place: several rules may point at the same ones. */
function excerptsOf(findings: readonly Finding[]): readonly Finding[] {
  const longest = new Map<string, Finding>()
  for (const finding of findings) {
    const known = longest.get(finding.place)
    if (!known || finding.excerpt.length > known.excerpt.length) longest.set(finding.place, finding)
  }
  return [...longest.values()]
}
