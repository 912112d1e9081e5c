import { useMemo, useState } from 'preact/hooks'
import type { ListedTool } from '../../../api/tools.ts'
import { whole } from '../../format.ts'
import { linkTo } from '../../router.ts'
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
  const [sort, setSort] = useState<{ key: Key; isDown: boolean }>({ key: 'tokens', isDown: true })
  const sorted = useMemo(() => {
    const direction = sort.isDown ? -1 : 1
    return [...tools].sort((first, second) => direction * compare(first[sort.key], second[sort.key]))
  }, [tools, sort])
  return (
    <>
      <div class="tool-line header">
        {COLUMNS.map(({ key, title }) => (
          <button
            key={key}
            type="button"
            class={typeof tools[0]?.[key] === 'number' ? 'number' : ''}
            aria-label={`Sort by ${title}`}
            onClick={() => setSort({ key, isDown: sort.key === key ? !sort.isDown : key !== 'name' })}
          >
            {title}
            {sort.key === key ? (sort.isDown ? ' ↓' : ' ↑') : ''}
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
              <ToolState state={tool.state} />
            </span>
            <span class="number muted">{tool.found || '–'}</span>
            <span class="number muted">{tool.called || '–'}</span>
            <span class="number muted">{tool.failed || '–'}</span>
          </a>
        )}
      />
    </>
  )
}

function compare(first: string | number, second: string | number): number {
  return first < second ? -1 : first > second ? 1 : 0
}
