import { useEffect, useState } from 'preact/hooks'
import type { ContentBlock } from 'toolcrib'
import { JsonTree } from '../../ui/json-tree.tsx'
import { Markdown } from '../../ui/markdown.tsx'

/** Each block of a result as what it is. Nothing is loaded from elsewhere. */
export function ContentView({ blocks }: { readonly blocks: readonly ContentBlock[] }) {
  return (
    <ul class="stack">
      {blocks.map((block, index) => {
        const key = `${index} ${block.type}`
        return (
          <li key={key}>
            <Block block={block} />
          </li>
        )
      })}
    </ul>
  )
}

function Block({ block }: { readonly block: ContentBlock }) {
  switch (block.type) {
    case 'text':
      return <Markdown text={block.text} />
    case 'image':
    case 'audio':
      return <Media kind={block.type} data={block.data} type={block.mimeType} />
    case 'resource_link':
      return (
        <div>
          {block.name} <code class="wrap">{block.uri}</code>
        </div>
      )
    case 'resource': {
      const { uri, text, blob, mimeType = '' } = block.resource
      return (
        <div class="stack">
          <code class="wrap">{uri}</code>
          {text !== undefined && <Markdown text={text} />}
          {blob !== undefined && <Media kind={mimeType.split('/')[0] ?? ''} data={blob} type={mimeType} />}
        </div>
      )
    }
    default:
      return <JsonTree value={block} />
  }
}

/** Types that a browser shows without running anything. */
const SAFE = /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+)$/

function Media({
  kind,
  data,
  type,
}: {
  readonly kind: string
  readonly data: string
  readonly type: string
}) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!SAFE.test(type)) return undefined
    const made = URL.createObjectURL(new Blob([bytesOf(data)], { type }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [data, type])
  if (!SAFE.test(type))
    return (
      <p class="muted">
        {data.length.toLocaleString('en-US')} characters of {type || 'unknown data'}, not shown.
      </p>
    )
  if (url === undefined) return null
  if (kind === 'image') return <img class="media" src={url} alt="Result of the call" />
  // biome-ignore lint/a11y/useMediaCaption: a sound that a tool made has no captions.
  return <audio controls src={url} />
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
