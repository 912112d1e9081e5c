import { linkTo } from '../router.ts'
import { ToolName } from './badge.tsx'

/** A titled list of tools, each with a link. */
export function NameList({
  title,
  names,
  none,
  sign = '',
}: {
  readonly title: string
  readonly names: readonly string[]
  /** What to say where there are none. */
  readonly none: string
  readonly sign?: string
}) {
  return (
    <div>
      <h3>{title}</h3>
      {names.length === 0 ? (
        <p class="small muted">{none}</p>
      ) : (
        <ul>
          {names.map((name) => (
            <li key={name}>
              {sign}{' '}
              <a href={linkTo('tools', name)}>
                <ToolName name={name} />
              </a>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
