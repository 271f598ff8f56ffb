"""Changes to libraries that user code may import later, made right after their import: charts of plotly, pools of processes."""
import importlib.abc
import importlib.util
import sys

HOOKS = {}


class Finder(importlib.abc.MetaPathFinder):
    """Lets the other finders find a module, then adds a step to its loading."""

    def find_spec(self, name, path, target=None):
        if name not in HOOKS:
            return None
        hook = HOOKS.pop(name)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def exec_module(module):
            run(module)
            hook(module)

        spec.loader.exec_module = exec_module
        return spec


def after_import(name, hook):
    """Calls `hook(module)` once the module was imported; now, if it is there."""
    if name in sys.modules:
        hook(sys.modules[name])
    else:
        HOOKS[name] = hook


def install():
    """Once, in the zygote."""
    sys.meta_path.insert(0, Finder())
    after_import('plotly.basedatatypes', show_plotly_here)
    after_import('multiprocessing.context', pool_of_threads)
    after_import('multiprocessing', pool_of_threads)
    after_import('concurrent.futures.process', executor_of_threads)
    after_import('concurrent.futures', executor_of_threads)


def show_plotly_here(module):
    """fig.show() opens a browser elsewhere; here it is a page of its own, with the script inside it: nothing is fetched."""

    def show(self, *args, **kwargs):
        from . import display

        page = self.to_html(include_plotlyjs=True, full_html=True)
        title = self.layout.title.text if self.layout.title and self.layout.title.text else 'plotly chart'
        display.current().send_document(page.encode(), 'text/html', 'html', str(title)[:500])

    module.BaseFigure.show = show
    module.BaseFigure._ipython_display_ = show


def pool_of_threads(module):
    """multiprocessing.Pool gives threads: a run has no other processes."""

    def pool(self_or_processes=None, *args, **kwargs):
        from multiprocessing.pool import ThreadPool

        if hasattr(self_or_processes, 'get_start_method'):
            processes, *args = args or (kwargs.pop('processes', None),)
        else:
            processes = self_or_processes if self_or_processes is not None else kwargs.pop('processes', None)
        initializer = args[0] if args else kwargs.get('initializer')
        initargs = args[1] if len(args) > 1 else kwargs.get('initargs', ())
        return ThreadPool(min(processes or 2, 16), initializer, initargs)

    if hasattr(module, 'BaseContext'):
        module.BaseContext.Pool = pool
    if module.__name__ == 'multiprocessing':
        module.Pool = pool


def executor_of_threads(module):
    """ProcessPoolExecutor gives threads as well."""
    from concurrent.futures import ThreadPoolExecutor

    class ProcessPoolExecutor(ThreadPoolExecutor):
        """Threads with the constructor of ProcessPoolExecutor."""

        def __init__(self, max_workers=None, mp_context=None, initializer=None, initargs=(), *, max_tasks_per_child=None):
            super().__init__(min(max_workers or 2, 16), '', initializer, initargs)

    module.ProcessPoolExecutor = ProcessPoolExecutor
