import type { SearchSide } from '../../../api/search.ts'
import { linkTo } from '../../router.ts'
import { ToolName } from '../../ui/badge.tsx'
import { VisibleText } from '../../ui/visible-text.tsx'

/** A match with its score, and its reasons word by word. */
export function Match({
  match: { name, score, description, reasons },
  rank,
  best,
}: {
  readonly match: SearchSide['matches'][number]
  readonly rank: number
  /** The score of the best match; undefined if scores are probabilities, which need no comparison. */
  readonly best: number | undefined
}) {
  return (
    <li class="match">
      <span class="rank">{rank}</span>
      <span>
        <a href={linkTo('tools', name)}>
          <ToolName name={name} />
        </a>
        <div class="small muted clamp wrap">
          <VisibleText text={description.slice(0, 300)} />
        </div>
      </span>
      <span class="score small number" title={`score ${score}`}>
        {best === undefined ? `${scoreText(100 * score)} %` : scoreText(score)}
        <span class="meter" aria-hidden="true">
          <i class="s0" style={{ width: `${Math.max(2, (100 * score) / (best || 1))}%` }} />
        </span>
      </span>
      <span class="below">
        {reasons.map((reason) => (
          <Reason key={reason} reason={reason} />
        ))}
      </span>
    </li>
  )
}

/** Two digits that tell scores apart, however small: 3.1, 0.97, 0.0088. */
function scoreText(score: number): string {
  return score >= 10 ? score.toFixed(0) : score.toPrecision(2)
}

/** `"sum" in name, description` with the word in bold. */
function Reason({ reason }: { readonly reason: string }) {
  const [, word, where] = /^"(.+?)"(.*)$/s.exec(reason) ?? []
  return (
    <span class="chip">
      {word === undefined ? (
        reason
      ) : (
        <span>
          <b>{word}</b>
          {where}
        </span>
      )}
    </span>
  )
}
