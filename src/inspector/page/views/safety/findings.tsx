import type { Output } from '../../../api/routes.ts'
import { sentence } from '../../format.ts'
import { linkTo } from '../../router.ts'
import { Badge } from '../../ui/badge.tsx'
import { Card } from '../../ui/card.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

const ORDER = ['high', 'medium', 'low']
const MAX_SHOWN = 100

/** What the scanner found in descriptions, the worst first. */
export function Findings({ findings }: { readonly findings: Output<'safety'>['findings'] }) {
  const sorted = [...findings].sort(
    (first, second) => ORDER.indexOf(first.severity) - ORDER.indexOf(second.severity),
  )
  return (
    <Card
      title="Suspicious texts"
      aside={findings.length > 0 && <Badge tone="warn">{findings.length}</Badge>}
    >
      {findings.length === 0 ? (
        <p class="muted">None found in names, descriptions and schemas.</p>
      ) : (
        <ul class="list">
          {sorted.slice(0, MAX_SHOWN).map(({ kind, severity, server, tool, place, message, excerpt }) => (
            <li key={`${server} ${tool} ${kind} ${place}`}>
              <div class="row">
                <Badge tone={severity === 'high' ? 'bad' : severity === 'medium' ? 'warn' : 'plain'}>
                  {severity}
                </Badge>
                <a href={linkTo('tools', `mcp__${server}__${tool}`)} class="tool-name">
                  {server} · {tool}
                </a>
                <span class="small muted">{place}</span>
              </div>
              <p>{sentence(message)}.</p>
              <div class="diff">
                <VisibleText text={excerpt} />
              </div>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
