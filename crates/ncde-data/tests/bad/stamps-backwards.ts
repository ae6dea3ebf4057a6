@problemName p
@timeStamps true
@dimensions 2
@classLabel true a b
@data
(0,1),(2,2),(1,3):(0,1):a
