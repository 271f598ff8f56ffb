def open_trees(options):
    return None
class Groups:
    def __init__(self, trees, requests, log):
        self.requests = requests; self.live = {}
    def hear(self, d): pass
