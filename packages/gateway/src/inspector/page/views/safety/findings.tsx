import { useState } from 'preact/hooks'
import type { Output } from '../../../api/routes.ts'
import { plural, whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'
import { bySuspect, type Finding, joinRepeated, messagesOf, type Suspect } from './suspects.ts'

const FIRST = 10
const MORE = 50
/** A tool that is suspicious in twenty places is as suspicious as one in two. */
const QUOTED = 2

const TONES: Readonly<Record<Finding['severity'], Tone>> = { high: 'bad', medium: 'warn', low: 'plain' }

/** What the scanner found in descriptions, tool by tool, the worst first. */
export function Findings({ findings }: { readonly findings: Output<'safety'>['findings'] }) {
  const [limit, setLimit] = useState(FIRST)
  const suspects = joinRepeated(bySuspect(findings))
  const definitions = suspects.reduce((sum, { tools }) => sum + tools.length, 0)
  const rest = suspects.length - limit
  return (
    <Card
      title="Suspicious texts"
      aside={suspects.length > 0 && <span class="small muted">in {plural(definitions, 'definition')}</span>}
    >
      {suspects.length === 0 ? (
        <p class="muted">None found in names, descriptions and schemas.</p>
      ) : (
        <ul class="list">
          {suspects.slice(0, limit).map((suspect) => (
            <li key={`${suspect.server} ${suspect.item} ${suspect.tool}`}>
              <div class="row">
                <Badge tone={TONES[suspect.severity]}>{suspect.severity}</Badge>
                {suspect.tools.length === 1 ? (
                  <a href={placeOf(suspect, suspect.tool)} class="tool-name">
                    {suspect.server} · {suspect.tool}
                  </a>
                ) : (
                  <b class="tool-name">
                    {suspect.server} · {plural(suspect.tools.length, suspect.item ? 'item' : 'tool')}
                  </b>
                )}
              </div>
              <Reasons findings={suspect.findings} />
              {suspect.tools.length > 1 && (
                <details class="excerpt">
                  <summary class="small muted">All {whole(suspect.tools.length)} of them</summary>
                  <p class="small wrap">
                    {suspect.tools.map((tool) => (
                      <span key={tool} class="chip">
                        <a href={placeOf(suspect, tool)}>{tool}</a>
                      </span>
                    ))}
                  </p>
                </details>
              )}
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

/** The page of the tool; other things have none, but their server has. */
function placeOf({ server, item }: Suspect, tool: string): string {
  return item === undefined ? linkTo('tools', `mcp__${server}__${tool}`) : linkTo('servers', server)
}

/** Why a tool is suspicious, and the words that made it so. */
export function Reasons({ findings }: { readonly findings: readonly Finding[] }) {
  const excerpts = excerptsOf(findings)
  const others = excerpts.length - QUOTED
  return (
    <>
      <p>{messagesOf(findings)}</p>
      {excerpts.slice(0, QUOTED).map(({ tool, place, excerpt }) => (
        <figure key={`${tool} ${place}`} class="excerpt">
          <figcaption class="small muted wrap">{place}</figcaption>
          <div class="diff">
            <VisibleText text={excerpt} />
          </div>
        </figure>
      ))}
      {others > 0 && <p class="small muted excerpt">and in {plural(others, 'other sentence')}</p>}
    </>
  )
}

/** The words that were judged, each sentence once: several rules may point at it, and tools may repeat it. */
function excerptsOf(findings: readonly Finding[]): readonly Finding[] {
  const byWords = [...new Map(findings.map((finding) => [bare(finding), finding])).values()]
  const shortest = byWords.filter((each) =>
    byWords.every((other) => other === each || !bare(each).includes(bare(other))),
  )
  return [...new Map(shortest.map((finding) => [bare(finding), finding])).values()]
}

/** Without the marks of what was left out. */
function bare({ excerpt }: Finding): string {
  return excerpt.replaceAll(/^…\s*|\s*…$/g, '').toLowerCase()
}
