import { useEffect, useRef, useState } from 'preact/hooks'
import { note } from '../../router.ts'
import { Head } from '../../ui/card.tsx'
import { Show } from '../../ui/state.tsx'
import { useApi, useChanged } from '../../use-api.ts'
import { AsModel } from './as-model.tsx'
import { Judge } from './judge.tsx'
import { Misses } from './misses.tsx'
import { Sides } from './sides.tsx'

const TYPING_MS = 180

/** Shows what a model would find, and why, while the user types. The query is kept in the address. */
export function Search({ rest }: { readonly rest: string }) {
  const [typed, setTyped] = useState(rest)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  useChanged(rest, setTyped)
  useEffect(() => {
    if (typed === rest) return undefined
    const timer = setTimeout(() => note('search', typed), TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed, rest])
  const query = rest.trim()
  const search = (text: string) => {
    setTyped(text)
    scrollTo(0, 0)
  }
  return (
    <>
      <Head title="Search">Ask as a model would. Each match says which words it was found by.</Head>
      <div class="stack">
        <input
          ref={field}
          type="search"
          class="field large"
          placeholder="What should be done?"
          aria-label="Search for tools"
          value={typed}
          onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        />
        {query === '' ? <Examples onTry={search} /> : <Answer query={query} />}
        <Misses without={query} onTry={search} />
      </div>
    </>
  )
}

const EXAMPLES = ['read a file', 'list what is in a folder', 'remember a fact', 'add two numbers']

/** Example queries. */
function Examples({ onTry }: { readonly onTry: (text: string) => void }) {
  return (
    <div class="row small">
      <span class="muted">Try</span>
      {EXAMPLES.map((text) => (
        <button key={text} type="button" class="button small" onClick={() => onTry(text)}>
          {text}
        </button>
      ))}
    </div>
  )
}

function Answer({ query }: { readonly query: string }) {
  const loaded = useApi('search', { query })
  return (
    <Show of={loaded}>
      {({ sides }) => (
        <>
          <Sides sides={sides}>
            <div class="row expected">
              <span class="muted">Not what you expected?</span>
              <Judge key={query} text={query} onTry={loaded.reload} />
            </div>
          </Sides>
          <AsModel key={query} query={query} />
        </>
      )}
    </Show>
  )
}
