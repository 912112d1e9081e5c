import { useMemo } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { whole } from '../../format.ts'
import { linkTo, note, place } from '../../router.ts'
import { ToolName, ToolState } from '../../ui/badge.tsx'
import { VirtualList } from '../../ui/virtual-list.tsx'

const ROW_HEIGHT = 52

const COLUMNS = [
  { key: 'name', title: 'Tool' },
  { key: 'tokens', title: 'Tokens' },
  { key: 'state', title: 'State' },
  { key: 'found', title: 'Found' },
  { key: 'called', title: 'Called' },
  { key: 'failed', title: 'Failed' },
] as const

type Key = (typeof COLUMNS)[number]['key']

/** Tools as lines that can be sorted; ten thousand of them scroll as smoothly as ten. */
export function ToolList({ tools }: { readonly tools: readonly ListedTool[] }) {
  const { key: sortKey, isDown } = sortOf(place.value.query.sort)
  const sorted = useMemo(() => {
    const direction = isDown ? -1 : 1
    return [...tools].sort((first, second) => direction * compare(first[sortKey], second[sortKey]))
  }, [tools, sortKey, isDown])
  const sortBy = (key: Key) => {
    const goesDown = sortKey === key ? !isDown : key !== 'name'
    note('tools', '', { ...place.peek().query, sort: `${goesDown ? '-' : ''}${key}` })
  }
  return (
    <>
      <div class="tool-line header">
        {COLUMNS.map(({ key, title }) => (
          <button
            key={key}
            type="button"
            class={typeof tools[0]?.[key] === 'number' ? 'number' : ''}
            aria-label={`Sort by ${title}`}
            onClick={() => sortBy(key)}
          >
            {title}
            {sortKey === key ? (isDown ? ' ↓' : ' ↑') : ''}
          </button>
        ))}
      </div>
      <VirtualList
        items={sorted}
        rowHeight={ROW_HEIGHT}
        label="Tools"
        row={(tool, style) => (
          <a key={tool.name} class="tool-line" style={style} href={linkTo('tools', tool.name)}>
            <span class="what">
              <span class="truncate">
                <ToolName name={tool.name} />
              </span>
              <span class="small muted truncate">{tool.summary}</span>
            </span>
            <span class="number">{whole(tool.tokens)}</span>
            <span>
              {/* Most tools are deferred, so only other states get a badge. */}
              {tool.state === 'deferred' ? (
                <span class="small muted">{tool.state}</span>
              ) : (
                <ToolState state={tool.state} />
              )}
            </span>
            <Count value={tool.found} />
            <Count value={tool.called} />
            <Count value={tool.failed} tone={tool.failed > 0 ? 'danger' : ''} />
          </a>
        )}
      />
    </>
  )
}

function Count({ value, tone = '' }: { readonly value: number; readonly tone?: string }) {
  return (
    <span class={`number ${tone} ${value === 0 ? 'muted' : ''}`}>{value === 0 ? '–' : whole(value)}</span>
  )
}

/** `-tokens`: by tokens, the most first. */
function sortOf(text = '-tokens'): { readonly key: Key; readonly isDown: boolean } {
  const key = COLUMNS.find((column) => column.key === text.replace(/^-/, ''))?.key
  return key === undefined ? { key: 'tokens', isDown: true } : { key, isDown: text.startsWith('-') }
}

function compare(first: string | number, second: string | number): number {
  return first < second ? -1 : first > second ? 1 : 0
}
