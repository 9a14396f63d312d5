// Shows the pages that the dashboard sends. Each replaces only what differs from the previous one, so nothing flickers, no
// image is loaded again, and the scroll position is kept. Nothing in a page runs.
(() => {
  const TYPES = { svg: 'image/svg+xml', css: 'text/css' }
  const { nonce } = document.querySelector('style')
  const parser = new DOMParser()
  /** Files by path: their content and, once something refers to them, their blob URL. */
  const files = new Map()

  addEventListener('message', ({ source, data }) => {
    if (source !== parent) return
    const outdated = keep(data.files)
    // The policy of this document has another nonce.
    const page = parser.parseFromString(data.html.replaceAll(data.nonce, nonce), 'text/html')
    prepare(page, data.asset_base)
    morph(document.documentElement, page.documentElement)
    for (const address of outdated) URL.revokeObjectURL(address)
  })
  // A link would lead away from the page.
  addEventListener('click', (event) => event.preventDefault(), true)
  parent.postMessage('ready', '*')

  /** Keeps changed files and returns the blob URLs that are outdated: theirs, and those of style sheets, which may refer to them. */
  function keep(changed) {
    if (changed.length === 0) return []
    const outdated = []
    for (const [path, content] of changed) {
      outdated.push(files.get(path)?.address)
      if (content) files.set(path, { content })
      else files.delete(path)
    }
    for (const [path, file] of files) {
      if (!path.endsWith('.css')) continue
      outdated.push(file.address)
      delete file.address
    }
    return outdated.filter(Boolean)
  }

  /** The blob URL of a file. A style sheet gets one after the files that it refers to; one that imports itself is left alone. */
  function addressOf(path) {
    const file = files.get(path)
    if (!file || file.address || file.isBeingRead) return file?.address
    file.isBeingRead = true
    const content = path.endsWith('.css') ? styles(path, new TextDecoder().decode(file.content)) : file.content
    file.isBeingRead = false
    file.address = URL.createObjectURL(new Blob([content], { type: TYPES[path.split('.').pop()] ?? '' }))
    return file.address
  }

  /** Replaces relative URLs of other files in a style sheet. */
  function styles(path, text) {
    return text.replaceAll(/url\(\s*(["']?)([^"')]+)\1\s*\)|@import\s*(["'])([^"']+)\3/g, (all, _, linked, __, imported) => {
      const url = `https://theme.invalid/${path}`
      const name = linked ?? imported
      const found = URL.canParse(name, url) && new URL(name, url)
      const address = found && found.host === 'theme.invalid' && addressOf(decoded(found.pathname.slice(1)))
      return address ? `${imported ? '@import ' : ''}url("${address}")` : all
    })
  }

  function decoded(path) {
    try {
      return decodeURIComponent(path)
    } catch {
      return path
    }
  }

  /** Removes elements that would run, reload, load from elsewhere or be shown without scripts only, and inserts blob URLs. */
  function prepare(page, base) {
    for (const element of page.querySelectorAll('script, noscript, meta[http-equiv], base, link:not([rel=stylesheet])')) element.remove()
    const named = new RegExp(`${base.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}([^\\s"'()<>?#]+)`, 'g')
    const put = (text) => text.replaceAll(named, (all, path) => addressOf(decoded(path)) ?? all)
    for (const element of page.querySelectorAll('*')) {
      for (const attribute of element.attributes) {
        if (attribute.value.includes(base)) attribute.value = put(attribute.value)
      }
      if (element.localName === 'style' && element.textContent.includes(base)) element.textContent = put(element.textContent)
    }
  }

  /** Changes an element into another one, with as few changes as possible. */
  function morph(is, wanted) {
    if (is.nodeType !== wanted.nodeType || is.nodeName !== wanted.nodeName) {
      is.replaceWith(wanted)
      return
    }
    if (is.nodeType !== Node.ELEMENT_NODE) {
      if (is.nodeValue !== wanted.nodeValue) is.nodeValue = wanted.nodeValue
      return
    }
    for (const { name } of [...is.attributes]) if (!wanted.hasAttribute(name)) is.removeAttribute(name)
    for (const { namespaceURI, name, value } of wanted.attributes) {
      if (is.getAttribute(name) !== value) is.setAttributeNS(namespaceURI, name, value)
    }
    const [before, after] = [[...is.childNodes], [...wanted.childNodes]]
    for (const [index, node] of after.entries()) {
      if (before[index]) morph(before[index], node)
      else is.append(node)
    }
    for (const node of before.slice(after.length)) node.remove()
  }
})()
