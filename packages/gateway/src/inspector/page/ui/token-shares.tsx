import { plural, whole } from '../format.ts'
import { linkTo } from '../router.ts'
import { seriesOf } from './bars.tsx'

const LISTED = 8

/** The share of each source in the tokens of all tools, the largest first. `most` is the width of the whole bar. */
export function TokenShares({
  sources,
  most,
}: {
  readonly sources: readonly { readonly source: string; readonly tokens: number }[]
  readonly most: number
}) {
  const series = seriesOf(sources.map(({ source }) => source))
  const listed = sources.slice(0, LISTED)
  const others = sources.slice(LISTED)
  return (
    <div>
      <div class="meter split" role="img" aria-label="Share of each source">
        {listed.map(({ source, tokens }) => (
          <i
            key={source}
            class={`s${series(source)}`}
            style={{ width: `${(100 * tokens) / most}%` }}
            title={`${source}: ${whole(tokens)} tokens`}
          />
        ))}
      </div>
      <ul class="legend plain-links">
        {listed.map(({ source, tokens }) => (
          <li key={source}>
            <i class={`s${series(source)}`} />
            <a href={linkTo('tools', '', { source })}>{source}</a>{' '}
            <span class="tabular">{whole(tokens)}</span>
          </li>
        ))}
        {others.length > 0 && (
          <li>
            <i class="rest" />
            {plural(others.length, 'other')}{' '}
            <span class="tabular">{whole(others.reduce((sum, { tokens }) => sum + tokens, 0))}</span>
          </li>
        )}
      </ul>
    </div>
  )
}
